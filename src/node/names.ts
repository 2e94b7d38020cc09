/** The name of tfjs-node's backend. */
export const TFJS_NODE_BACKEND = 'tensorflow';
