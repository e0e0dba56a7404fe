import { render } from "preact";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";
import { connect, generation } from "./live/events.ts";
import { followMoments } from "./live/moments.ts";
import { followNews } from "./live/news.ts";
import { readSession } from "./live/session.ts";
import { App } from "./shell/app.tsx";
import { listenForKeys } from "./shell/keys.tsx";
import { listenForPalette } from "./shell/palette.tsx";

listenForKeys();
listenForPalette();
// First of all: what it asks for takes longest.
const place = document.getElementById("app");
if (place) render(<App />, place);
// Now, and whenever the connection comes back: the server may be another one by then.
generation.subscribe(() => void readSession());
followNews();
followMoments();
connect();
