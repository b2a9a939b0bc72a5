/** Builds the workflow bundles beside the program, so that a worker starts without webpack. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { bundlePath } from '../runtime/bundle-path.js';
import { FAILURE_CONVERTER_PATH } from '../runtime/encryption/data-converter.js';
import { packageRoot } from '../runtime/package-root.js';

/** Bundles `workflows/` as Temporal's sandbox wants it. The bundle fits only this very SDK version. */
export async function buildBundle(options: { encrypted: boolean }): Promise<{ bytes: number }> {
  const target = bundlePath(options);
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(packageRoot(), 'dist', 'workflows', 'index.js'),
    workflowInterceptorModules: [join(packageRoot(), 'dist', 'workflows', 'core', 'trace.js')],
    ...(options.encrypted && { failureConverterPath: FAILURE_CONVERTER_PATH }),
    // Silent except for errors, which come as exceptions.
    logger: new DefaultLogger('ERROR'),
  });
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, code);
  return { bytes: Buffer.byteLength(code) };
}

/**
 * Reads a bundle and bounds the stack traces inside its sandbox. The SDK takes one for every promise there, which is a
 * quarter of what a worker does (docs/performance.md); a replay of the run's history gives them back where one is
 * needed.
 *
 * @param options.stackFrames most frames of a trace, of workflow failures and of the query `__stack_trace` too
 * @returns the bundle as it was built, and as it is to be run
 */
export async function readBundle(options: {
  path: string;
  stackFrames: number;
}): Promise<{ built: string; workflowBundle: { code: string } }> {
  const built = await readFile(options.path, 'utf8');
  // On the first line, so that the source map still fits. Later is too late: the sandbox freezes its globals.
  const code = `Error.stackTraceLimit=${options.stackFrames};${built}`;
  return { built, workflowBundle: { code } };
}
