/* credential.c - see credential.h. */
#include "net/credential.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

bool credential_header(struct tl_span name) {
    static const char *const names[] = {"Authorization",  "Proxy-Authorization", "Cookie",  "Set-Cookie",
                                        "Set-Cookie2",    "X-Api-Key",           "Api-Key", "X-Auth-Token",
                                        "X-Access-Token", "Private-Token"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strlen(names[i]) == name.len && strncasecmp(names[i], name.ptr, name.len) == 0)
            return true;
    return false;
}
