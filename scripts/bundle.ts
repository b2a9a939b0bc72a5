import { buildBundle } from '../worker/bundle.js';

const { bytes } = await buildBundle();
console.log(`workflow bundle: ${(bytes / 1024).toFixed(0)} KiB`);
