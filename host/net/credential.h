/* credential.h - which headers carry credentials: their values stand in no document and in no crawl file. */
#ifndef TROTLINE_NET_CREDENTIAL_H
#define TROTLINE_NET_CREDENTIAL_H
#include <stdbool.h>

#include "trotline.h"

bool credential_header(struct tl_span name); /* in any case, of requests and of answers */
#endif
