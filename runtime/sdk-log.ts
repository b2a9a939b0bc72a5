import { DefaultLogger } from '@temporalio/worker';
import type { LogLevel } from '@temporalio/worker';
import type { Logger } from 'pino';

/**
 * A logger for Temporal's SDK that writes its lines, INFO and above, where the program's own go.
 *
 * @param about what a line is about beside what the SDK says, by the id of the workflow that it names
 */
export function sdkLog(log: Logger, about: (workflowId: string) => object = () => ({})): DefaultLogger {
  const levels: Record<LogLevel, 'trace' | 'debug' | 'info' | 'warn' | 'error'> = {
    TRACE: 'trace',
    DEBUG: 'debug',
    INFO: 'info',
    WARN: 'warn',
    ERROR: 'error',
  };
  return new DefaultLogger('INFO', ({ level, message, meta }) => {
    const { workflowId } = meta ?? {};
    log[levels[level]]({ ...(typeof workflowId === 'string' && about(workflowId)), ...meta }, message);
  });
}
