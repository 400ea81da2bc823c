/* The little of XML that S3's replies need: elements without attributes. */
#ifndef S3_XML_H
#define S3_XML_H

#include "kindex.h"

/* The content of the next element of this name in *rest, which moves after it.
 * False: it has no further one. */
bool s3_xml_next(struct kx_slice *rest, const char *name,
                 struct kx_slice *content_out);

/* Copies the content of the first element of this name, with the five escapes
 * resolved, to out of `size` bytes. False: it is missing or does not fit. */
bool s3_xml_text(struct kx_slice xml, const char *name, char *out, size_t size);

/* Unix time in milliseconds of "2026-11-27T23:00:00.000Z"; INT64_MAX: it is no
 * such time. */
int64_t s3_xml_time(const char *text);

#endif
