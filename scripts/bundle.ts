/** The last step of the build: the workflow code as Temporal's sandbox wants it, and each program as one file. */
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../runtime/package-root.js';
import { buildBundle } from '../worker/bundle.js';
import { bundlePrograms } from './bundle/programs.js';

const kib = (bytes: number): string => `${(bytes / 1024).toFixed(0)} KiB`;
const dist = join(packageRoot(), 'dist');

for (const encrypted of [false, true]) {
  const { bytes } = await buildBundle({ encrypted });
  console.log(`workflow bundle${encrypted ? ', encrypted' : ''}: ${kib(bytes)}`);
}
for (const { name, bytes } of await bundlePrograms(dist)) console.log(`program ${name}: ${kib(bytes)}`);
// `drover` tells by this file whether to build again.
const now = new Date();
utimesSync(join(dist, 'programs', 'drover.js'), now, now);
