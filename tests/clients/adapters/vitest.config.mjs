export default {
  test: {
    include: ['*.test.mjs'],
    testTimeout: 300_000, // a busy machine is no failure
    hookTimeout: 300_000,
    fileParallelism: false,
  },
};
