#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# docs/mca.md lists exactly the MCA variables and counters that the component registers, with their defaults and levels.
set -u

page=$GF_SRCDIR/docs/mca.md
ompi_info=$(dirname "$MPIRUN")/ompi_info
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for variable in $(env | sed -n 's/^\(OMPI_MCA_coll_gpufifo_[a-z_]*\)=.*/\1/p'); do
    unset "$variable"      # the page has the defaults
done

OMPI_MCA_mca_base_component_show_load_errors=1 "$GF_BUILDDIR/gpufifo-env" "$ompi_info" --parsable --param coll gpufifo --level 9 \
    > "$folder/info" 2>&1
# name|default|level of each variable; the name of each counter
sed -n 's/^mca:coll:gpufifo:param:\([a-z_]*\):value:\(.*\)$/\1|\2/p' "$folder/info" | tr -d '"' | sort > "$folder/values"
sed -n 's/^mca:coll:gpufifo:param:\([a-z_]*\):level:\([0-9]*\).*$/\1|\2/p' "$folder/info" | sort > "$folder/levels"
join -t '|' "$folder/values" "$folder/levels" > "$folder/registered"
sed -n 's/^| \(coll_gpufifo_[a-z_]*\) | \([^|]*\) | \([0-9]\) |.*/\1|\2|\3/p' "$page" | sed 's/ *|/|/g' |
    sort > "$folder/documented"
sed -n 's/^mca:coll:gpufifo:pvar:\([a-z_]*\):.*/\1/p' "$folder/info" | sort -u > "$folder/counters"
sed -n '/^## Counters/,/^## Env/s/^| \(coll_gpufifo_[a-z_, ]*\) |.*/\1/p' "$page" |
    tr ',' '\n' | tr -d ' ' | sort > "$folder/documented-counters"

result=0
for pair in "registered documented" "counters documented-counters"; do
    set -- $pair
    if [ ! -s "$folder/$1" ] || ! diff "$folder/$1" "$folder/$2"; then
        echo "docs/mca.md and ompi_info differ ($1, left: ompi_info, right: the page)"
        result=1
    fi
done
[ $result -eq 0 ] &&
    echo "docs/mca.md: $(wc -l < "$folder/registered") variables and $(wc -l < "$folder/counters") counters as registered"
exit $result
