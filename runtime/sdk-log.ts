import { DefaultLogger } from '@temporalio/worker';
import type { LogLevel } from '@temporalio/worker';
import type { Logger } from 'pino';

/** A logger for Temporal's SDK that writes its lines, INFO and above, where the program's own go. */
export function sdkLog(log: Logger): DefaultLogger {
  const levels: Record<LogLevel, 'trace' | 'debug' | 'info' | 'warn' | 'error'> = {
    TRACE: 'trace',
    DEBUG: 'debug',
    INFO: 'info',
    WARN: 'warn',
    ERROR: 'error',
  };
  return new DefaultLogger('INFO', ({ level, message, meta }) => {
    log[levels[level]](meta ?? {}, message);
  });
}
