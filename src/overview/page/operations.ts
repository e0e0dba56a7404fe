import { cards } from "./cards.ts";
import { fleet } from "./fleet.ts";
import { money } from "./money.ts";
import { graph, neighbours } from "./neighbours.ts";
import { timeline } from "./timeline.ts";

/** The operations of the page, which have no commands: a server exposes them beside the others. */
export const pageOperations = [cards, neighbours, graph, timeline, fleet, money];
