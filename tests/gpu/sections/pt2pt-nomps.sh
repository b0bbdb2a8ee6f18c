# SPDX-License-Identifier: BSD-3-Clause
#
# messages as in pt2pt, without MPS, fewer sizes

# shellcheck source=tests/gpu/sections/pt2pt.sh
. "$folder/pt2pt.sh"

section() {
    checks runs_messages 16M
}
