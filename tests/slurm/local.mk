# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs under Slurm. How they are started has nothing to do with sanitizers, under which the same programs run by mpirun.
if !GF_SANITIZE
TESTS += tests/slurm/slurm.sh
endif
dist_check_SCRIPTS += tests/slurm/slurm.sh tests/slurm/srun.sh tests/slurm/sbatch.sh tests/slurm/salloc.sh \
    tests/slurm/own_gpu.sh \
    tests/slurm/stand_in/nvidia-cuda-mps-control
EXTRA_DIST += tests/slurm/cluster.sh
