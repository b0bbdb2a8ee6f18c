/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The dynamic loader reads LD_LIBRARY_PATH when a process starts, so a test program runs itself again to get the fake driver.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/drivers.h"
#include "tests/support/fake_cuda_run.h"

struct fake_cuda *fake;
gf_driver *driver;

/* The folder's libcuda.so.1 is a link to the module. */
static void place(const char *module, const char *libcuda)
{
    const char *build = getenv("GF_BUILDDIR");
    char path[1024];
    if (!module) {
        close(open(libcuda, O_CREAT | O_WRONLY, 0600));
        return;
    }
    snprintf(path, sizeof path, "%s/tests/support/.libs/%s.so", build ? build : ".", module);
    char *whole = realpath(path, NULL);
    if (!whole || symlink(whole, libcuda) != 0) {
        fprintf(stderr, "no %s: build it, or set GF_BUILDDIR\n", path);
        exit(1);
    }
    free(whole);
}

static void run_again(const char *folder, const char *argument)
{
    char path[4096];
    const char *others = getenv("LD_LIBRARY_PATH");
    snprintf(path, sizeof path, "%s%s%s", folder, others ? ":" : "", others ? others : "");
    setenv("LD_LIBRARY_PATH", path, 1);
    execl("/proc/self/exe", "fake-cuda-test", argument, (char *)NULL);
    _exit(127);
}

int fake_cuda_rerun(const char *module, const char *argument)
{
    char folder[] = "/tmp/gpufifo-test-XXXXXX", libcuda[64];
    if (!mkdtemp(folder))
        return 1;
    snprintf(libcuda, sizeof libcuda, "%s/libcuda.so.1", folder);
    place(module, libcuda);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        run_again(folder, argument);
    int status = 1;
    waitpid(child, &status, 0);
    unlink(libcuda);
    rmdir(folder);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

struct fake_cuda *fake_cuda_loaded(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    struct fake_cuda *(*get)(void) = NULL;
    if (library)
        *(void **)&get = dlsym(library, "fake_cuda");
    if (!get) {
        fprintf(stderr, "this is not the fake driver: %s\n", dlerror());
        exit(1);
    }
    return get();
}

int fake_cuda_setup(void **state)
{
    (void)state;
    fake = fake_cuda_loaded();
    fake->restart();
    return gf_cuda_driver_get(&driver, NULL);
}

int fake_cuda_teardown(void **state)
{
    (void)state;
    return fake->misuses || fake->depth() || fake->capture() != CU_STREAM_CAPTURE_MODE_GLOBAL;
}

gf_device *fake_cuda_open_device(void)
{
    gf_device *device = NULL;
    struct gf_reason why = { "" };
    if (gf_device_open(driver, 0, &device, &why) != GF_OK)
        fail_msg("device_open: %s", why.text);
    return device;
}

void assert_says(const struct gf_reason *why, const char *part)
{
    if (!strstr(why->text, part))
        fail_msg("\"%s\" does not say \"%s\"", why->text, part);
}

struct gf_ipc_handle fake_cuda_from_another_process(struct gf_ipc_handle handle)
{
    handle.bytes[GF_IPC_HANDLE_BYTES - 8] ^= 1;
    return handle;
}
