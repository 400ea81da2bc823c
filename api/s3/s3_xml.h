/* Reads the subset of XML that S3's replies need: elements without attributes.
 */
#ifndef S3_XML_H
#define S3_XML_H

#include "kindex.h"

/* Sets the content of the next element with this name in *rest, and moves *rest
 * past the element. False if there is no further element. */
bool s3_xml_next(struct kx_slice *rest, const char *name,
                 struct kx_slice *content_out);

/* Copies the content of the first element with this name to out (`size` bytes),
 * with the five escapes decoded. False if the element is missing or does not
 * fit. */
bool s3_xml_text(struct kx_slice xml, const char *name, char *out, size_t size);

/* Converts a time such as "2026-11-27T23:00:00.000Z" to Unix time in
 * milliseconds; INT64_MAX if the text has another form. */
int64_t s3_xml_time(const char *text);

#endif
