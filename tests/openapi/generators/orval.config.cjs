module.exports = {
  kindex: {
    input: { target: './made/openapi.json' },
    output: { target: './made/orval.ts', client: 'fetch', mode: 'single' },
  },
};
