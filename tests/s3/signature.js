// Checks a signature as AWS describes it (Signature Version 4), which s3rver does not.
'use strict';
const crypto = require('node:crypto');

const sha256 = (data) => crypto.createHash('sha256').update(data).digest('hex');
const hmac = (key, text) => crypto.createHmac('sha256', key).update(text).digest();
const encode = (text) => encodeURIComponent(text)
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

const canonicalQuery = (query) => query.split('&').filter(Boolean)
    .map((pair) => {
        const at = pair.indexOf('=');
        const [name, value] = at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
        return `${encode(decodeURIComponent(name))}=${encode(decodeURIComponent(value))}`;
    })
    .sort().join('&');

// The code of the error that S3 would answer; '' when the request is as it was signed.
exports.wrong = (request, body, accessKey, secretKey) => {
    const header = request.headers.authorization ?? '';
    const parts = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(header);
    if (parts === null) return 'AccessDenied';
    const [, key, day, region, names, signature] = parts;
    if (key !== accessKey) return 'InvalidAccessKeyId';
    if (sha256(body) !== request.headers['x-amz-content-sha256']) return 'XAmzContentSHA256Mismatch';
    const signed = names.split(';');
    const needed = ['host', ...Object.keys(request.headers).filter((name) => name.startsWith('x-amz-'))];
    if (needed.some((name) => !signed.includes(name)) ||
        signed.some((name) => !(name in request.headers))) return 'AccessDenied';
    const [path, query = ''] = request.url.split('?');
    const canonical = [
        request.method, path.split('/').map((part) => encode(decodeURIComponent(part))).join('/'),
        canonicalQuery(query),
        ...signed.map((name) => `${name}:${request.headers[name].trim().replace(/ +/g, ' ')}`), '',
        names, request.headers['x-amz-content-sha256'],
    ].join('\n');
    const scope = `${day}/${region}/s3/aws4_request`;
    const text = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, sha256(canonical)].join('\n');
    const signing = [day, region, 's3', 'aws4_request'].reduce(hmac, `AWS4${secretKey}`);
    return hmac(signing, text).toString('hex') === signature ? '' : 'SignatureDoesNotMatch';
};
