# SPDX-License-Identifier: BSD-3-Clause
#
# ./demo.sh as a user starts it, without MPS and under it

section() {
    unset OMPI_MCA_coll_gpufifo_device OMPI_MCA_btl_vader_single_copy_mechanism LD_LIBRARY_PATH
    "$source/demo.sh" && "$source/tests/gpu/mps.sh" "$source/demo.sh"
}
