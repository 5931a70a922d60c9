/* help.c - see help.h. */
#include "cmd/help.h"

#include <string.h>
#include <sys/utsname.h>

#include <curl/curl.h>
#include <gnu/libc-version.h>
#include <idn2.h>
#include <libpsl.h>
#include <openssl/crypto.h>
#include <yaml.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "engine/version.h"

const struct option help_globals[] = {{"config", required_argument, NULL, 'c'},
                                      {"quiet", no_argument, NULL, 'q'},
                                      {"verbose", no_argument, NULL, 'v'},
                                      {"log-format", required_argument, NULL, 'l'},
                                      {"help", no_argument, NULL, 'h'},
                                      {"version", no_argument, NULL, 'V'},
                                      {0}};

void help_program(FILE *out) {
    fputs("usage: trotline [OPTION]... COMMAND ...\n\n"
          "A crawler on a leash: collectors fetch, every run leaves a document, every document knows where it came "
          "from.\n\n"
          "Commands:\n",
          out);
    for (size_t i = 0; cmd_table[i]; i++)
        fprintf(out, "  %-10s  %s\n", cmd_table[i]->name, cmd_table[i]->summary);
    fputs("  help        the same as COMMAND --help\n\n"
          "Options, before the command:\n"
          "      --config FILE       configuration (default: $TROTLINE_CONFIG, ./trotline.yml,\n"
          "                          ~/.config/trotline/trotline.yml, /etc/trotline/trotline.yml)\n"
          "  -q, --quiet             say nothing unless something is wrong\n"
          "  -v, --verbose           say more; -vv: still more\n"
          "      --log-format FORM   text (default) or json: what is said on stderr\n"
          "      --version           versions, for bug reports\n"
          "  -h, --help              this\n\n"
          "`trotline COMMAND --help` tells about one command and ends with examples.\n",
          out);
}

void cmd_help(const struct command *c, FILE *out) {
    size_t len = strlen(c->help);
    fprintf(out, "usage: trotline %s%s%s\n\n%s%s", c->name, *c->usage ? " " : "", c->usage, c->help,
            len && c->help[len - 1] == '\n' ? "" : "\n");
}

void help_version(FILE *out) {
    int major, minor, patch;
    struct utsname system;
    yaml_get_version(&major, &minor, &patch);
    fprintf(out, "trotline %s\n", TROTLINE_VERSION);
    fprintf(out, "plugin interface %u.%u\n", TL_ABI_MAJOR, TL_ABI_MINOR);
    fprintf(out, "%s\n", curl_version());
    fprintf(out, "%s\n", store_library());
    fprintf(out, "%s\n", OpenSSL_version(OPENSSL_VERSION));
    fprintf(out, "libyaml %d.%d.%d, libidn2 %s, libpsl %s\n", major, minor, patch, idn2_check_version(NULL),
            psl_get_version());
    fprintf(out, "glibc %s", gnu_get_libc_version());
    if (uname(&system) == 0)
        fprintf(out, ", %s %s %s", system.sysname, system.release, system.machine);
    fputc('\n', out);
}

int help_unknown(const char *command) {
    const char *names[64];
    size_t n = 0;
    for (; cmd_table[n] && n < COUNT_OF(names); n++)
        names[n] = cmd_table[n]->name;
    const char *near = yaml_nearest(command, names, n);
    if (near)
        log_error("there is no command %s; did you mean %s? (trotline --help lists them)", command, near);
    else
        log_error("there is no command %s (trotline --help lists them)", command);
    return EXIT_USAGE;
}

/* ---- completion */

static void offer(const char *ptr, size_t len, const char *typed, FILE *out) {
    if (len >= strlen(typed) && strncmp(ptr, typed, strlen(typed)) == 0)
        fprintf(out, "%.*s\n", (int)len, ptr);
}

/* The long options that a command's help speaks of, each once. */
static void offer_options(const struct command *c, const char *typed, FILE *out) {
    AUTO_BUF struct buf seen = BUF_INIT, mark = BUF_INIT;
    const char *end = strstr(c->help, "Examples:"), *part[] = {c->usage, c->help};
    if (!end)
        end = c->help + strlen(c->help);
    buf_lit(&seen, "\n");
    for (size_t i = 0; i < COUNT_OF(part); i++)
        for (const char *at = part[i]; (at = strstr(at, "--")) && (i == 0 || at < end);) {
            size_t len = 2 + strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");
            buf_reset(&mark);
            buf_printf(&mark, "\n%.*s\n", (int)len, at);
            if (len > 3 && !strstr(seen.data, mark.data)) {
                offer(at, len, typed, out);
                buf_text(&seen, mark.data + 1);
            }
            at += len;
        }
    offer("--help", 6, typed, out);
}

void help_complete(int count, char **word, FILE *out) {
    const struct command *c = NULL;
    const char *typed = count ? word[count - 1] : "";
    for (int i = 0; i + 1 < count && !c; i++) {
        if (strcmp(word[i], "--config") == 0 || strcmp(word[i], "--log-format") == 0)
            i++;
        else if (word[i][0] != '-' && !(c = cmd_find(word[i])) && strcmp(word[i], "help") != 0)
            return;
    }
    if (count > 1 && strcmp(word[count - 2], "--config") == 0)
        return;
    if (count > 1 && strcmp(word[count - 2], "--log-format") == 0) {
        offer("text", 4, typed, out);
        offer("json", 4, typed, out);
        return;
    }
    if (c && *typed == '-')
        offer_options(c, typed, out);
    if (c)
        return;
    for (size_t i = 0; *typed == '-' && help_globals[i].name; i++) {
        AUTO_BUF struct buf name = BUF_INIT;
        buf_printf(&name, "--%s", help_globals[i].name);
        offer(name.data, name.len, typed, out);
    }
    for (size_t i = 0; *typed != '-' && cmd_table[i]; i++)
        offer(cmd_table[i]->name, strlen(cmd_table[i]->name), typed, out);
    if (*typed != '-')
        offer("help", 4, typed, out);
}
