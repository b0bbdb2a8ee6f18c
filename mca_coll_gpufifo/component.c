/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The component as Open MPI opens, asks and closes it. It finds out which device there is, and opens devices on first use.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libgen.h>

#include "opal/mca/memory/base/base.h"
#include "opal/memoryhooks/memory.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/output.h"
#include "opal/util/show_help.h"

#include "core/imports.h"
#include "core/tuning.h"
#include "mca_coll_gpufifo/freed.h"
#include "mca_coll_gpufifo/module.h"
#include "mca_coll_gpufifo/stage_pool.h"

static int component_register(void);
static int component_open(void);
static int component_close(void);
static int component_init_query(bool progress_threads, bool mpi_threads);

mca_coll_gpufifo_component_t mca_coll_gpufifo_component = {
    .super = {
        .collm_version = {
            GF_OMPI_COLL_VERSION,
            .mca_component_name = "gpufifo",
            MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
            .mca_open_component = component_open,
            .mca_close_component = component_close,
            .mca_register_component_params = component_register,
        },
        .collm_data = {MCA_BASE_METADATA_PARAM_NONE},
        .collm_init_query = component_init_query,
        .collm_comm_query = gf_module_query,
    },
    .log_stream = -1,
    .log_lock = PTHREAD_MUTEX_INITIALIZER,
};

/* Threads of ours log, too, of which Open MPI does not know. */
static void write_log(void *ctx, enum gf_log_level level, const char *line)
{
    mca_coll_gpufifo_component_t *component = ctx;
    (void)level;

    pthread_mutex_lock(&component->log_lock);
    opal_output(component->log_stream, "%s", line);
    pthread_mutex_unlock(&component->log_lock);
}

/* The help file is installed beside the component, which need not be in Open MPI's own folders. */
static void announce_help_folder(void)
{
    Dl_info self;
    char *path;

    if (dladdr((void *)(uintptr_t)write_log, &self) == 0 || (path = strdup(self.dli_fname)) == NULL) {
        return;
    }
    opal_show_help_add_dir(dirname(path));
    free(path);
}

static int component_register(void)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;

    announce_help_folder();
    int rc = gf_params_register(component);

    return rc == OMPI_SUCCESS ? gf_pvars_register(&component->super.collm_version, &component->pvars) : rc;
}

static void memory_released(void *start, size_t bytes, void *ctx, bool from_allocator)
{
    (void)from_allocator;
    gf_host_memory_forget(ctx, start, bytes);
}

/* Open MPI intercepts the release of memory only for those who open this framework. Without it every address that is not
 * known for other reasons costs a query of the driver. */
static void watch_memory(mca_coll_gpufifo_component_t *component)
{
    gf_host_memory_open(&component->host_memory, false);
    if (mca_base_framework_open(&opal_memory_base_framework, 0) != OPAL_SUCCESS) {
        return;
    }
    if (opal_mem_hooks_register_release(memory_released, &component->host_memory) == OPAL_SUCCESS) {
        component->host_memory.remembers = true;
    } else {
        mca_base_framework_close(&opal_memory_base_framework);
        gf_log(&component->log, GF_LOG_PATH,
               "this Open MPI does not tell when memory is released: host buffers cost a driver query a call");
    }
}

static void unwatch_memory(mca_coll_gpufifo_component_t *component)
{
    if (component->host_memory.remembers) {
        component->host_memory.remembers = false;
        opal_mem_hooks_unregister_release(memory_released);
        mca_base_framework_close(&opal_memory_base_framework);
    }
}

static int component_close(void)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;

    unwatch_memory(component);
    gf_freed_unwatch();
    gf_pt2pt_withdraw();
    gf_staging_destroy(component->staging);
    component->staging = NULL;
    for (int i = 0; i < GF_MAX_DEVICES; i++) {
        gf_agent_destroy(component->agents[i]);
        component->agents[i] = NULL;
        gf_proxy_destroy(component->proxies[i]);
        component->proxies[i] = NULL;
        gf_net_destroy(component->nets[i]);
        component->nets[i] = NULL;
        gf_imports_destroy(component->imports[i]);
        component->imports[i] = NULL;
        if (component->devices[i]) {
            gf_device_close(component->devices[i]);
            component->devices[i] = NULL;
        }
    }
    gf_tuning_destroy(component->tuning_table);
    component->tuning_table = NULL;
    component->driver = NULL;
    opal_output_close(component->log_stream);
    component->log_stream = -1;
    OBJ_DESTRUCT(&component->modules);
    OBJ_DESTRUCT(&component->lock);
    return OMPI_SUCCESS;
}

/* The loader refuses most components that were built for another Open MPI; this catches the rest, before anything is touched. */
static bool is_right_open_mpi(bool tell)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    const char *version;
    char running[32] = "of unknown version", built[16];
    int length, major = 0, minor = 0;

    MPI_Get_library_version(text, &length);
    version = strstr(text, "Open MPI v");
    if (version && sscanf(version, "Open MPI v%d.%d", &major, &minor) == 2) {
        snprintf(running, sizeof(running), "%d.%d", major, minor);
    }
    if (major == OMPI_MAJOR_VERSION && minor == OMPI_MINOR_VERSION) {
        return true;
    }
    snprintf(built, sizeof(built), "%d.%d", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION);
    if (tell && gf_speaks_for_node()) {
        gf_show_help("wrong-open-mpi", built, running);
    }
    return false;
}

static const char *driver_name(const mca_coll_gpufifo_component_t *component)
{
    return component->device_choice == GF_DEVICE_EMULATED ? "emulated" : "cuda";
}

static bool find_driver(mca_coll_gpufifo_component_t *component, struct gf_reason *why)
{
    const char *name = driver_name(component);

    if (component->device_choice != GF_DEVICE_NONE && gf_driver_available(name, why) &&
        gf_driver_open(name, &component->driver, why) == GF_OK) {
        return true;
    }
    component->driver = NULL;
    return false;
}

/* Was the device asked for by name, its absence is reported; "auto" is satisfied with none. */
static void report_no_driver(mca_coll_gpufifo_component_t *component, const struct gf_reason *why)
{
    if (component->device_choice == GF_DEVICE_NONE) {
        return;
    }
    if (component->device_choice == GF_DEVICE_AUTO) {
        gf_log(&component->log, GF_LOG_PATH, "not used: %s", why->text);
        return;
    }
    /* Under strict each rank ends the job, and must have said why. */
    if (gf_speaks_for_node() || component->config.strict) {
        gf_show_help(component->config.strict ? "no-device-strict" : "no-device", driver_name(component),
                     opal_process_info.nodename, why->text);
    }
    if (component->config.strict) {
        ompi_mpi_abort(&ompi_mpi_comm_world.comm, MPI_ERR_OTHER);
    }
}

/* All that decides whether this process will take part, so that MPI_Init's exchange can tell its peers. Quietly: what is wrong
 * is reported when the component is asked. */
static void prepare(mca_coll_gpufifo_component_t *component)
{
    struct gf_reason why;

    if (!is_right_open_mpi(false) || component->priority < 0 || !find_driver(component, &why)) {
        return;
    }
    component->staging = gf_staging_create();
    gf_params_apply_card(component);
    if (component->staging) {
        gf_pt2pt_announce();
    }
}

static int component_open(void)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;
    opal_output_stream_t stream;

    OBJ_CONSTRUCT(&component->lock, opal_mutex_t);
    OBJ_CONSTRUCT(&component->modules, opal_list_t);
    OBJ_CONSTRUCT(&stream, opal_output_stream_t);
    stream.lds_prefix = "gpufifo: ";
    stream.lds_want_stderr = true;
    component->log_stream = opal_output_open(&stream);
    stream.lds_prefix = NULL;
    OBJ_DESTRUCT(&stream);
    component->log.write = write_log;
    component->log.ctx = component;
    prepare(component);
    return OMPI_SUCCESS;
}

static int component_init_query(bool progress_threads, bool mpi_threads)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;
    struct gf_reason why = {""};
    (void)progress_threads;
    (void)mpi_threads;

    if (!is_right_open_mpi(true)) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    gf_params_apply(component);
    if (component->priority < 0) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (!component->driver && !find_driver(component, &why)) {
        report_no_driver(component, &why);
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (!component->staging) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    watch_memory(component);
    return OMPI_SUCCESS;
}

/* There are more threads than cores where kernels run on the host's: in all of MPI's waits, ours and others, a rank then lets
 * them run, or each of its turns would last until the kernel of the operating system takes the core away. */
static gf_device *open_device(gf_driver *driver, int ordinal, struct gf_reason *why)
{
    gf_device *device = NULL;

    if (gf_device_open(driver, ordinal, &device, why) != GF_OK) {
        return NULL;
    }
    if (device->caps.on_host_cores) {
        opal_progress_set_yield_when_idle(true);
    }
    return device;
}

gf_device *gf_component_device(int ordinal, struct gf_reason *why)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;

    if (ordinal < 0 || ordinal >= GF_MAX_DEVICES) {
        gf_reason_set(why, "device %d is beyond the %d that gpufifo can use in one process", ordinal, GF_MAX_DEVICES);
        return NULL;
    }
    opal_mutex_lock(&component->lock);
    bool first = component->devices[ordinal] == NULL;

    if (first) {
        component->devices[ordinal] = open_device(component->driver, ordinal, why);
    }
    gf_device *device = component->devices[ordinal];

    opal_mutex_unlock(&component->lock);
    if (first && device) {
        struct gf_stage_pool *pool;        /* has its stream before others have used up the device's memory */

        (void)gf_stage_pool_get(component->staging, ordinal, &pool, NULL);
    }
    return device;
}

int gf_component_only_device(void)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;
    int only = -1, count = 0;

    opal_mutex_lock(&component->lock);
    for (int ordinal = 0; ordinal < GF_MAX_DEVICES; ordinal++) {
        if (component->devices[ordinal]) {
            only = ordinal;
            count++;
        }
    }
    opal_mutex_unlock(&component->lock);
    return count == 1 ? only : -1;
}

uint64_t gf_component_driver_calls(void)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;
    uint64_t calls = 0;

    opal_mutex_lock(&component->lock);
    for (int ordinal = 0; ordinal < GF_MAX_DEVICES; ordinal++) {
        const gf_device *device = component->devices[ordinal];

        calls += device ? __atomic_load_n(&device->queued, __ATOMIC_RELAXED) : 0;
    }
    opal_mutex_unlock(&component->lock);
    return calls;
}

gf_agent *gf_component_agent(gf_device *device)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;
    const struct gf_config *config = &component->config;
    struct gf_reason why;

    if (config->agent == GF_AGENT_OFF) {
        return NULL;
    }
    opal_mutex_lock(&component->lock);
    gf_agent **agent = &component->agents[device->ordinal];

    if (!*agent && gf_agent_create(device, config, agent, &why) != GF_OK) {
        gf_log(&component->log, GF_LOG_WARN, "small operations are launched, there is no agent: %s", why.text);
    }
    opal_mutex_unlock(&component->lock);
    return *agent;
}

struct gf_imports *gf_component_imports(gf_device *device)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;

    opal_mutex_lock(&component->lock);
    struct gf_imports *imports = component->imports[device->ordinal];

    if (!imports && gf_imports_create(device, &imports, NULL) == GF_OK) {
        __atomic_store_n(&component->imports[device->ordinal], imports, __ATOMIC_RELEASE);
        gf_freed_watch();
    }
    opal_mutex_unlock(&component->lock);
    return imports;
}

gf_proxy *gf_component_proxy(const gf_device *device)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;

    opal_mutex_lock(&component->lock);
    gf_proxy **proxy = &component->proxies[device->ordinal];

    if (!*proxy && gf_proxy_create(device, proxy, NULL) != GF_OK) {
        *proxy = NULL;
    }
    opal_mutex_unlock(&component->lock);
    return *proxy;
}
