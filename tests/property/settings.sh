# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by scripts that draw settings: PROPERTY_SEED begins elsewhere. Sets seed, which each pick moves on.
seed=${PROPERTY_SEED:-1}
echo "PROPERTY_SEED=$seed"

# pick WORD...: one of them, by the seed
pick() {
    # The C standard's example generator; its high bits are good enough here.
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    shift $((seed / 65536 % $#))
    picked=$1
}
