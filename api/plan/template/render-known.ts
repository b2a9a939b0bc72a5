import type { Scalar } from '../schema/common.js';
import { findPlaceholders } from './placeholders.js';
import { RenderError, renderString } from './render.js';

/** A text whose placeholders are all parameters, filled in; else undefined. */
export function renderKnown(text: string, params: Record<string, Scalar>): string | undefined {
  const { placeholders } = findPlaceholders(text);
  if (placeholders.some(({ reference }) => reference.kind !== 'param')) return undefined;
  try {
    return renderString(text, { params, planName: '', executionName: '', operation: '', outputs: {} });
  } catch (error) {
    if (error instanceof RenderError) return undefined;
    throw error;
  }
}
