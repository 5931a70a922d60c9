/* super_exec_ask.c - what a collector asks to have run, and whether it may: the rules of super_exec.c.
 *
 * Two kinds. A program by its bare name: the collector declares it, and it is looked for in fixed folders. One by its
 * absolute path: the collector declares "*", and the installation lists this very path in the collector's option
 * `programs`; it is the installation's own and nobody else's to write (loader_program), and never has a network. */
#include "base/json.h"
#include "base/mem.h"
#include "engine/super_exec.h"

enum {
    ENV_MAX = 64 + 32, /* variables from the collector, and those of its secrets and of route.h */
    OUTPUT_DEFAULT = 1 << 20,
    OUTPUT_MOST = 64 << 20 /* of each of stdout and stderr */
};

static const char **take_list(struct super_exec *x, struct message *m, uint32_t *count) {
    uint32_t n = message_get_u32(m);
    if (n > MESSAGE_MAX / 4)
        m->bad = true;
    const char **list = arena_alloc(&x->memory, m->bad ? sizeof *list : ((size_t)n + 1) * sizeof *list);
    uint32_t i = 0;
    for (; i < n && !m->bad; i++) {
        const char *text = message_get_text(m);
        if (!text)
            m->bad = true;
        list[i] = arena_text(&x->memory, text ? text : "", text ? strlen(text) : 0);
    }
    list[i] = NULL;
    *count = i;
    return list;
}

struct super_exec *super_exec_take(int64_t job, struct message *m) {
    struct super_exec *x = mem_alloc(sizeof *x);
    x->in = x->out[0] = x->out[1] = x->report = -1;
    x->deadline_us = x->kill_us = INT64_MAX;
    x->job = job;
    unsigned flags = message_get_u8(m);
    x->stream = flags & EXEC_STREAM;
    x->offline = flags & EXEC_OFFLINE;
    x->window = EXEC_WINDOW;
    x->input_ends = !x->stream;
    const char *cwd = message_get_text(m);
    x->cwd = cwd && *cwd ? arena_text(&x->memory, cwd, strlen(cwd)) : NULL;
    int64_t ms = message_get_i64(m), most = message_get_i64(m);
    x->timeout_us = ms > 0 && ms < INT64_MAX / 4000 ? ms * 1000 : INT64_MAX;
    if (x->stream) /* it is read as it comes */
        x->max_output = most <= 0 ? SIZE_MAX : (size_t)most;
    else
        x->max_output = most == 0 ? OUTPUT_DEFAULT : most < 0 || most > OUTPUT_MOST ? OUTPUT_MOST : (size_t)most;
    x->argv = take_list(x, m, &x->argc);
    x->env = take_list(x, m, &x->envc);
    struct tl_span input = message_get_span(m);
    buf_add(&x->input, input.ptr, input.len);
    return x;
}

static bool declared(const struct plugin *p, const char *name) {
    for (size_t i = 0; p->program && p->program[i]; i++)
        if (strcmp(p->program[i], name) == 0)
            return true;
    return false;
}

static bool leads_out(const char *path) {
    if (*path == '/')
        return true;
    for (const char *c = path; c; c = strchr(c, '/')) {
        c += *c == '/';
        if (c[0] == '.' && c[1] == '.' && (c[2] == '/' || c[2] == '\0'))
            return true;
    }
    return false;
}

static bool variable_is_sound(const char *entry) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    size_t len = strspn(entry, letters);
    bool digit = *entry >= '0' && *entry <= '9';
    return len > 0 && !digit && entry[len] == '=' && strncmp(entry, "LD_", 3) != 0 && strncmp(entry, "PATH=", 5) != 0;
}

/* Is it one of those that the installation allows this collector, in its option `programs`? */
static bool configured(const struct config_collector *own, const char *path) {
    struct tl_json list, item = {0};
    if (!own || !own->options.len || json_find(own->options, "/programs", &list))
        return false;
    while (json_next(&list, &item) == TL_OK) {
        AUTO_BUF struct buf text = BUF_INIT;
        if (item.type == TL_JSON_STRING && json_text(&item, &text) == TL_OK && span_eq(buf_span(&text), path))
            return true;
    }
    return false;
}

static int check_path(struct super_exec *x, const struct plugin *p, const struct config_collector *own,
                      struct fail *why) {
    x->offline = true;
    if (!declared(p, "*"))
        return fail_set(why, TL_INVALID, "the collector %s does not declare that it runs programs by their path",
                        p->name);
    if (!configured(own, x->argv[0]))
        return fail_set(why, TL_INVALID,
                        "it is not among the programs that collectors.%s.options.programs in trotline.yml allows",
                        p->name);
    return loader_program(x->argv[0], why);
}

int super_exec_check(struct super_exec *x, const struct plugin *p, const struct config_collector *own,
                     struct fail *why) {
    if (x->argc == 0)
        return fail_set(why, TL_INVALID, "there is no program");
    const char *name = x->argv[0];
    if (*name != '/' && (!declared(p, name) || *name == '*'))
        return fail_set(why, TL_INVALID,
                        declared(p, "*") ? "a program is named by its absolute path"
                                         : "the collector %s does not declare this program",
                        p->name);
    if (*name != '/' && (strchr(name, '/') || name[0] == '.' || name[0] == '\0'))
        return fail_set(why, TL_INVALID, "a program is a bare name, without '/'");
    if (x->cwd && leads_out(x->cwd))
        return fail_set(why, TL_INVALID, "its folder %.200s is not below the cache folder ('..' or '/' first)", x->cwd);
    if (x->envc > ENV_MAX)
        return fail_set(why, TL_INVALID, "more than %d variables in its environment", ENV_MAX);
    for (uint32_t i = 0; i < x->envc; i++)
        if (!variable_is_sound(x->env[i]))
            return fail_set(why, TL_INVALID, "its environment: %.*s is not to be set; NAME=VALUE, no PATH, no LD_*",
                            (int)strcspn(x->env[i], "="), x->env[i]);
    return *name == '/' ? check_path(x, p, own, why) : TL_OK;
}
