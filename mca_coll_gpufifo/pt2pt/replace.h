/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Sendrecv_replace is the one point-to-point call that does not leave the buffer to the PML: it packs what it sends on
 * the CPU. So the function itself is replaced, by Open MPI's own means for that (its patcher, with which it watches memory too);
 * and MPI_Buffer_attach, to refuse device memory in time.
 */
#ifndef GF_MCA_PT2PT_REPLACE_H
#define GF_MCA_PT2PT_REPLACE_H

/* Puts our functions in the place of Open MPI's, or says on the log why not. After the PML's functions are ours. It stays there
 * until the patcher is closed: by gf_pt2pt_replace_close if nobody but us opened it, else by Open MPI, in MPI_Finalize. */
void gf_pt2pt_replace_open(void);
void gf_pt2pt_replace_close(void);

#endif
