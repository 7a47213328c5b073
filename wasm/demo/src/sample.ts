/** Passages to begin with. */
export const sample = `Photosynthesis turns sunlight, water and carbon dioxide into sugar and oxygen inside the leaves of green plants.

Mitochondria are the parts of a cell where food is turned into energy that the cell can use.

The heart pumps blood through two circuits: one to the lungs and one to the rest of the body.

Vaccines train the immune system to recognise a disease without having to suffer it.

A good sourdough starter smells faintly of yoghurt and doubles in size within a few hours.

To make a simple tomato sauce, cook garlic in olive oil, add crushed tomatoes and let it simmer for twenty minutes.

Let the dough rest overnight in the refrigerator; the crust will be darker and the flavour deeper.

Roast the vegetables at a high temperature so that they brown instead of steaming.

The central bank raised interest rates for the third time this year to slow down inflation.

Diversifying a portfolio means not putting all of your savings into a single company.

A mortgage with a fixed rate protects the borrower when rates go up.

Small businesses often fail because they run out of cash, not because they are unprofitable.

The midfielder scored twice in the final ten minutes and took her team to the championship.

Marathon runners should drink before they are thirsty and start more slowly than they feel like.

The referee stopped the match because of lightning near the stadium.

Chess players learn openings by heart, but games are decided by calculation in the middle.

The spacecraft entered orbit around Mars after a journey of seven months.

Neutron stars are so dense that a spoonful of their matter weighs as much as a mountain.

Tides are caused by the pull of the moon and, to a lesser degree, of the sun.

The telescope sees in infrared light and can look through clouds of dust.

Restart the router, wait thirty seconds and try to connect again.

If you have forgotten your password, choose "reset" on the sign-in page and follow the link in the e-mail.

Back up your photographs to a second disk before you install the update.

The browser tab uses less memory when the page is in the background.

The last train to the coast leaves at ten past eleven from platform four.

Pack light clothes, a rain jacket and comfortable shoes for a week in the mountains.

The old town is best explored on foot, early in the morning before the buses arrive.

You need a visa if you want to stay for longer than ninety days.

The violin sonata was written in a single summer by the lake.

He painted the same bridge in every season and every light.

The novel tells the story of three sisters who inherit a failing hotel.

Jazz musicians listen to each other and answer what they hear.`;
