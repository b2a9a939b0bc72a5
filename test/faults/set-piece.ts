export const SET_PIECES = ['foreign-temporal', 'empty-temporal', 'two-clusters'] as const;
export type SetPiece = (typeof SET_PIECES)[number];
