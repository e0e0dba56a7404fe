#!/bin/sh
# The order is the one of the request, and the refund is what the books say, to the cent.
set -eu
order=$(./request.sh | sed -n 's/.*Order \([0-9]*\).*/\1/p')
refund=$(node -p '
  const rows = require("fs").readFileSync("charges.csv", "utf8").trim().split("\n");
  const sign = { charge: 1, voucher: 1, return: 1, price: -1, refund: -1 };
  const own = rows.map((row) => row.split(",")).filter(([order]) => order === process.argv[1]);
  const cents = own.reduce((sum, [, , kind, amount]) => sum + sign[kind] * Math.round(amount * 100), 0);
  (cents / 100).toFixed(2)' "$order")
for line in "Order: $order" "Refund: $refund"; do
  grep -x "$line" "$VIV_ARTIFACT_PATH" || { echo "it should say $line" && exit 1; }
done
