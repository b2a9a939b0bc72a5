/**
 * Loaded before a program (`node --import`): stack traces name the lines of Drover's own sources. A bundled program has
 * source maps of these alone (`scripts/bundle/programs.ts`).
 */
process.setSourceMapsEnabled(true);
