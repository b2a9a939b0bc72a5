import { join } from 'node:path';
import { packageRoot } from './package-root.js';

/**
 * Where the build leaves the workflow code and where a worker looks for it. An installation that encrypts has its own:
 * how failures are written is part of the bundle.
 */
export const bundlePath = (options: { encrypted: boolean }): string =>
  join(packageRoot(), 'dist', options.encrypted ? 'workflow-bundle.encrypted.js' : 'workflow-bundle.js');
