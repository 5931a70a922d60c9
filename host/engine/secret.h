/* secret.h - the text of a secret, read when a worker that may use it starts, and nowhere else. */
#ifndef TROTLINE_ENGINE_SECRET_H
#define TROTLINE_ENGINE_SECRET_H
#include "base/buf.h"
#include "base/fail.h"
#include "engine/config.h"

enum { SECRET_MAX = 16 * 1024 };
/* From its file (without the newline at its end) or its environment variable. TL_NOTFOUND, with a sentence that does
 * not show it. */
int secret_read(const struct config_secret *secret, struct buf *out, struct fail *why);
#endif
