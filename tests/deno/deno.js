// Where npm has put the Deno program: the package of this kind of machine is
// installed by itself, since the package named deno only chooses among them.
'use strict';

const path = require('node:path');

const found = require.resolve('@deno/linux-x64-glibc/package.json');
module.exports = path.join(path.dirname(found), 'deno');
