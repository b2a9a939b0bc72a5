import { isGrpcServiceError } from '@temporalio/client';

const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;
const UNAUTHENTICATED = 16;

/** Whether a server refuses to answer, as opposed to being unable to. */
export const isRefusedByTemporal = (error: unknown): boolean =>
  isGrpcServiceError(error) && [PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED].includes(error.code);
