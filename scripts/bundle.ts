import { buildBundle } from '../worker/bundle.js';

for (const encrypted of [false, true]) {
  const { bytes } = await buildBundle({ encrypted });
  console.log(`workflow bundle${encrypted ? ', encrypted' : ''}: ${(bytes / 1024).toFixed(0)} KiB`);
}
