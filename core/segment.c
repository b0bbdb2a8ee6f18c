/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared host memory as a memfd, attached through the creator's /proc entry.
 */
#define _GNU_SOURCE 1   /* memfd_create, fallocate */
#include "core/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t round_to_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

static void *map_shared(int fd, size_t bytes)
{
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return address == MAP_FAILED ? NULL : address;
}

/* Bytes that can be allocated without swapping, as the kernel estimates them; the greatest size if it does not say. */
static uint64_t available_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    uint64_t kib;

    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1) {
            fclose(file);
            return kib * 1024;
        }
    }
    if (file) {
        fclose(file);
    }
    return UINT64_MAX;
}

/* fallocate reserves every page now, so that a lack of memory shows here, not as SIGBUS at the first store. On a memfd it
 * would rather have some process killed than fail, so ask first. */
static int reserve(int fd, size_t bytes)
{
    int result;

    if (bytes > available_bytes()) {
        errno = ENOMEM;
        return -1;
    }
    do {
        result = fallocate(fd, 0, 0, (off_t)bytes);
    } while (result != 0 && errno == EINTR);
    return result;
}

gf_status gf_segment_create(size_t bytes, struct gf_segment *segment, struct gf_segment_name *name, struct gf_reason *why)
{
    struct stat info;

    *segment = (struct gf_segment){ .fd = -1 };
    if (bytes == 0 || bytes > (size_t)INT64_MAX / 2) {
        gf_reason_set(why, "a shared segment of %zu bytes was asked for: ask for 1 byte or more", bytes);
        return GF_ERR_INVALID;
    }
    size_t whole = round_to_pages(bytes);
    int fd = memfd_create("gpufifo", MFD_CLOEXEC);

    if (fd < 0) {
        gf_reason_set(why, "memfd_create: %s; raise the limit of open files (ulimit -n) if it is reached", strerror(errno));
        return GF_ERR_SYSTEM;
    }
    void *address = NULL;

    if (reserve(fd, whole) != 0 || fstat(fd, &info) != 0 || !(address = map_shared(fd, whole))) {
        gf_reason_set(why, "%zu bytes of shared host memory could not be reserved: %s; free memory or use smaller slots",
                      whole, strerror(errno));
        close(fd);
        return GF_ERR_NO_MEMORY;
    }
    *segment = (struct gf_segment){ .address = address, .bytes = whole, .fd = fd };
    *name = (struct gf_segment_name){ .pid = (int32_t)getpid(), .fd = fd, .bytes = whole,
                                      .inode = (uint64_t)info.st_ino, .device = (uint64_t)info.st_dev };
    return GF_OK;
}

gf_status gf_segment_attach(const struct gf_segment_name *name, struct gf_segment *segment, struct gf_reason *why)
{
    char path[64];
    struct stat info;

    *segment = (struct gf_segment){ .fd = -1 };
    snprintf(path, sizeof path, "/proc/%" PRId32 "/fd/%" PRId32, name->pid, name->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        gf_reason_set(why, "the shared memory of process %" PRId32 " cannot be opened by %s (%s): unless it has ended, let the "
                      "ranks of a node share one PID namespace and one user", name->pid, path, strerror(errno));
        return GF_ERR_UNSUPPORTED;
    }
    bool same = fstat(fd, &info) == 0 && (uint64_t)info.st_ino == name->inode && (uint64_t)info.st_dev == name->device
        && name->bytes > 0 && (uint64_t)info.st_size == name->bytes;

    if (!same) {
        close(fd);
        gf_reason_set(why, "%s is not the shared memory that the peer described: the ranks do not share one PID namespace, or "
                      "the peer has ended", path);
        return GF_ERR_UNSUPPORTED;
    }
    void *address = map_shared(fd, (size_t)name->bytes);
    int error = errno;

    close(fd);
    if (!address) {
        gf_reason_set(why, "%" PRIu64 " bytes of shared memory cannot be mapped: %s", name->bytes, strerror(error));
        return GF_ERR_NO_MEMORY;
    }
    *segment = (struct gf_segment){ .address = address, .bytes = (size_t)name->bytes, .fd = -1 };
    return GF_OK;
}

void gf_segment_close(struct gf_segment *segment)
{
    if (segment->address) {
        munmap(segment->address, segment->bytes);
        if (segment->fd >= 0) {
            close(segment->fd);
        }
    }
    *segment = (struct gf_segment){ .fd = -1 };
}
