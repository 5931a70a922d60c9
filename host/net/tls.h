/* tls.h - what is recorded of a TLS connection: version, cipher, and the certificate that the server showed.
 *
 * Invariant: it is read from the connection itself, and once: further requests over the same connection get a copy of
 * the same text. Verifying is libcurl's and OpenSSL's business, not ours. */
#ifndef TROTLINE_NET_TLS_H
#define TROTLINE_NET_TLS_H
#include "base/buf.h"

/* Appends {"version","cipher","subject","issuer","expires","sha256"} as JSON. ssl: the SSL * of a connection that
 * stands; NULL adds nothing. Names are written as in RFC 2253; sha256 is that of the DER form, as browsers show it. */
void tls_describe(void *ssl, bool verified, struct buf *json);
#endif
