/** Bounds of what a run may bring, in bytes unless said otherwise (T1.6). */

/** Of an archive of configuration, as it is stored. */
export const MAX_ARCHIVE_BYTES = 50 * 1024 ** 2;
/** Files and folders in an archive. */
export const MAX_ARCHIVE_ENTRIES = 10_000;
/** Of a state. */
export const MAX_STATE_BYTES = 256 * 1024 ** 2;
/** Of a plan file, and of the JSON of a plan. */
export const MAX_PLAN_BYTES = 256 * 1024 ** 2;
/** Of a provider lock file. */
export const MAX_LOCK_FILE_BYTES = 1024 ** 2;
/** Of the variables of a run with their values. */
export const MAX_VARIABLES_BYTES = 8 * 1024 ** 2;
/** Of a log that is kept: half of it is its beginning, half its end. */
export const MAX_LOG_BYTES = 64 * 1024 ** 2;
/** Of a line of a log; a longer one is cut, and says so. */
export const MAX_LOG_LINE_BYTES = 8 * 1024 ** 2;
/** Of the text that one `sync` carries. */
export const MAX_SYNC_BYTES = 1024 ** 2;
/** Rows of resources that one `sync`, and a status, carries. */
export const MAX_RESOURCE_ROWS = 200;
/** First errors and warnings that a result carries. */
export const MAX_DIAGNOSTICS = 20;
/** Of a result. */
export const MAX_RESULT_BYTES = 1024 ** 2;
