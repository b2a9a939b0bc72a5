/** Loaded by path, by programs and by the workflow bundle of encrypted installations. */
import { DefaultFailureConverter } from '@temporalio/common';

/** Puts messages and stack traces of failures into a payload, which is then encrypted like every other. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
