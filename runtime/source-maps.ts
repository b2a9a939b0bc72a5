/**
 * Loaded before a program (`node --import`), in place of `--enable-source-maps`: stack traces name the lines of
 * Drover's own sources, while the source maps of the dependency with the most code, the client of Kubernetes, are not
 * kept in memory.
 */
import { isMainThread } from 'node:worker_threads';

// Threads load this too, and workflow threads have no use for the client.
if (isMainThread) await import('@kubernetes/client-node');
process.setSourceMapsEnabled(true);
