/** Builds the workflow bundles beside the program, so that a worker starts without webpack. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { FAILURE_CONVERTER_PATH } from '../runtime/encryption/data-converter.js';

/**
 * Where the build leaves a bundle and where a worker looks for it. An installation that encrypts has its own: how
 * failures are written is part of the bundle.
 */
export const bundlePath = (options: { encrypted: boolean }): string =>
  fileURLToPath(
    new URL(options.encrypted ? '../workflow-bundle.encrypted.js' : '../workflow-bundle.js', import.meta.url),
  );

/** Bundles `workflows/` as Temporal's sandbox wants it. The bundle fits only this very SDK version. */
export async function buildBundle(options: { encrypted: boolean }): Promise<{ bytes: number }> {
  const target = bundlePath(options);
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../workflows/index.js', import.meta.url)),
    ...(options.encrypted && { failureConverterPath: FAILURE_CONVERTER_PATH }),
    // Silent but for faults, which come as exceptions.
    logger: new DefaultLogger('ERROR'),
  });
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, code);
  return { bytes: Buffer.byteLength(code) };
}
