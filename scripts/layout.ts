/**
 * Lays out what the image holds under /app. `deploy/Dockerfile` calls it:
 *
 *     node dist/scripts/layout.js --arch amd64|arm64 --to FOLDER
 */
import { parseArgs } from 'node:util';
import { packageRoot } from '../runtime/package-root.js';
import { layOut } from './layout/programs.js';

/** Architectures as builders of images name them, and as Node does. */
const ARCHITECTURES: Readonly<Record<string, 'x64' | 'arm64'>> = { amd64: 'x64', arm64: 'arm64' };

const { values } = parseArgs({ options: { arch: { type: 'string' }, to: { type: 'string' } } });
const arch = ARCHITECTURES[values.arch ?? ''];
if (arch === undefined || values.to === undefined) {
  console.error(
    `--arch ${values.arch ?? ''}: amd64 or arm64; --to ${values.to ?? ''}: a folder; both are needed`,
  );
  process.exit(2);
}
const packages = await layOut({
  root: packageRoot(),
  to: values.to,
  platform: { os: 'linux', arch },
  programs: ['crd-bridge', 'worker'],
  also: ['deploy/healthcheck.js'],
});
console.log(`${values.to}: bridge and worker for linux/${values.arch}, ${packages.length} packages`);
