# SPDX-License-Identifier: BSD-3-Clause
dist_doc_DATA = README.md ARCHITECTURE.md docs/mca.md docs/mechanisms-nomps.svg docs/mechanisms.svg docs/performance.md \
    docs/scaling.md docs/slurm.md docs/testing.md docs/tuning.md examples/slurm.sbatch

# ompi_info is not ours: it cannot load a component that needs a sanitizer's library.
if !GF_SANITIZE
TESTS += tests/check_mca_docs.sh
endif
dist_check_SCRIPTS += tests/check_mca_docs.sh
