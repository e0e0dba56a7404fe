import { Component, type ComponentType, createElement, type VNode } from "preact";

/** Draws again only when a property is another one: a frame of scrolling touches only new rows. */
export function memo<P extends object>(of: ComponentType<P>): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const keys = Object.keys(next) as (keyof P)[];
      return keys.some((key) => next[key] !== this.props[key]);
    }
    override render(): VNode {
      return createElement(of as ComponentType<object>, this.props);
    }
  } as unknown as ComponentType<P>;
}
