/** Writes what the chart renders to: the kustomize base, and the renders that tests compare with. `npm run chart`. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHelm } from './chart/helm.js';
import { keptRenders } from './chart/renders.js';

const home = await mkdtemp(join(tmpdir(), 'drover-helm-'));
try {
  const helm = await openHelm({
    home,
    progress: ({ kind, subject, message }) => {
      if (kind !== 'busy') console.error(`${subject}: ${message}`);
    },
  });
  for (const [path, text] of await keptRenders(helm)) {
    await writeFile(path, text);
    console.log(`wrote ${path}`);
  }
} finally {
  await rm(home, { recursive: true, force: true });
}
