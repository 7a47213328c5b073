//! The settings applied in f64, step by step.

use nanoembed_core::model::llama::RopePairs;
use nanoembed_core::model::{
    Activation, Config, Disentangled, FeedForward, Heads, Mask, Mixture, NormKind, Order,
    QueryKeyNorm, Relative, RelativeBuckets, WindowLayers,
};

use super::model::{Matrix, Model, ids};
use super::settings::{LENGTHS, LISTED};

impl Model {
    fn tensor(&self, name: &str) -> &Matrix {
        self.tensors.get(name).unwrap_or_else(|| panic!("{name}"))
    }

    /// The product with rows `first..` of the first existing matrix of some.
    fn product(&self, x: &[f64], choices: &[(String, usize)], rows: usize) -> Vec<f64> {
        let is_there =
            |(name, _): &&(String, usize)| self.tensors.contains_key(&format!("{name}.weight"));
        let (name, first) = choices.iter().find(is_there).expect("a matrix");
        let weight = self.tensor(&format!("{name}.weight"));
        let bias = self.tensors.get(&format!("{name}.bias"));
        (*first..first + rows)
            .map(|row| {
                let products = weight.row(row).iter().zip(x).map(|(w, x)| f64::from(*w) * x);
                products.sum::<f64>() + bias.map_or(0.0, |bias| f64::from(bias.values[row]))
            })
            .collect()
    }

    fn norm(&self, x: &[f64], name: &str) -> Vec<f64> {
        let Some(weight) = self.tensors.get(&format!("{name}.weight")) else { return x.to_vec() };
        let (count, epsilon) = (x.len() as f64, f64::from(self.config.epsilon));
        let mean = match self.config.norm {
            NormKind::Layer => x.iter().sum::<f64>() / count,
            NormKind::Rms { .. } => 0.0,
        };
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let plus = f64::from(u8::from(self.config.norm == NormKind::Rms { one_plus: true }));
        let bias = self.tensors.get(&format!("{name}.bias"));
        let all = x.iter().zip(&weight.values).enumerate();
        all.map(|(at, (x, weight))| {
            let bias = bias.map_or(0.0, |bias| f64::from(bias.values[at]));
            (x - mean) / (variance + epsilon).sqrt() * (f64::from(*weight) + plus) + bias
        })
        .collect()
    }

    /// Norms and rotates a head's query or key.
    fn change(&self, head: &mut [f64], layer: usize, position: usize, norm: &str) {
        if self.config.attention.query_key_norm == Some(QueryKeyNorm::Head) {
            head.copy_from_slice(&self.norm(head, &format!("layer.{layer}.{norm}")));
        }
        let Some(rotary) = self.config.rotary else { return };
        let rope = if has_window(&self.config, layer) { rotary.local } else { rotary.global };
        let pairs = rope.dimensions / 2;
        for pair in 0..pairs {
            let frequency = f64::from(rope.base).powf(-2.0 * pair as f64 / rope.dimensions as f64);
            let (sin, cos) = (position as f64 * frequency).sin_cos();
            let (a, b) = match rope.pairs {
                RopePairs::Halves => (pair, pair + pairs),
                RopePairs::Neighbours => (2 * pair, 2 * pair + 1),
            };
            (head[a], head[b]) = (head[a] * cos - head[b] * sin, head[a] * sin + head[b] * cos);
        }
    }

    fn attention(&self, x: &[Vec<f64>], layer: usize) -> Vec<Vec<f64>> {
        let Heads { query, key_value, size } =
            *self.config.heads_of(has_window(&self.config, layer));
        let of = |name: &str| format!("layer.{layer}.{name}");
        let (queries, keys) = (query * size, key_value * size);
        let heads = |first: usize, name: &str, rows: usize, norm: Option<&str>| -> Vec<Vec<f64>> {
            let choices = [(of("qkv"), first), (of(name), 0)];
            let all = x.iter().map(|x| self.product(x, &choices, rows));
            let changed = all.enumerate().map(|(position, mut row)| {
                let is_whole = self.config.attention.query_key_norm == Some(QueryKeyNorm::Vector);
                if let Some(norm) = norm.filter(|_| is_whole) {
                    row = self.norm(&row, &of(norm));
                }
                for head in row.chunks_exact_mut(size).filter(|_| norm.is_some()) {
                    self.change(head, layer, position, norm.unwrap_or_default());
                }
                row
            });
            changed.collect()
        };
        let q = heads(0, "query", queries, Some("query_norm"));
        let k = heads(queries, "key", keys, Some("key_norm"));
        let mut v = heads(queries + keys, "value", keys, None);
        if self.config.attention.value_norm {
            v.iter_mut().flat_map(|v| v.chunks_exact_mut(size)).for_each(|v| {
                let mean = v.iter().map(|x| x * x).sum::<f64>() / size as f64;
                v.iter_mut().for_each(|x| *x /= (mean + f64::from(self.config.epsilon)).sqrt());
            });
        }
        let vectors = self.vectors(layer);
        let scale = self.config.attention.scale.map_or(1.0 / (size as f64).sqrt(), f64::from);
        (0..x.len())
            .map(|i| {
                let mut context = Vec::new();
                for head in 0..query {
                    let shared = head / (query / key_value) * size;
                    let seen: Vec<usize> =
                        (0..x.len()).filter(|j| sees(&self.config, layer, i, *j)).collect();
                    let score = |j: &usize| {
                        let q = &q[i][head * size..(head + 1) * size];
                        let k = &k[*j][shared..shared + size];
                        let bias = match self.config.relative {
                            None => 0.0,
                            Some(Relative::Buckets(buckets)) => {
                                let table = self.tensor("relative.weight");
                                f64::from(table.row(bucket(buckets, i, *j))[head])
                            }
                            Some(Relative::Disentangled(it)) => {
                                let (pq, pk) = &vectors[position(it, i, *j)];
                                let own = q.iter().zip(&pk[shared..]);
                                let other = pq[head * size..].iter().zip(k);
                                own.chain(other).map(|(a, b)| a * b).sum::<f64>() * scale
                            }
                            Some(Relative::Alibi) => -slopes(query)[head] * i.abs_diff(*j) as f64,
                            other => panic!("{other:?}"),
                        };
                        q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>() * scale + bias
                    };
                    let scores: Vec<f64> = seen.iter().map(score).collect();
                    let most = scores.iter().copied().fold(f64::MIN, f64::max);
                    let scores: Vec<f64> = scores.iter().map(|x| (x - most).exp()).collect();
                    let sum: f64 = scores.iter().sum();
                    context.extend((0..size).map(|e| {
                        let all = seen.iter().zip(&scores);
                        all.map(|(j, score)| score / sum * v[*j][shared + e]).sum::<f64>()
                    }));
                }
                self.product(&context, &[(of("output"), 0)], self.config.hidden)
            })
            .collect()
    }

    /// Query and key of each row of the table of positions.
    fn vectors(&self, layer: usize) -> Vec<(Vec<f64>, Vec<f64>)> {
        let Some(Relative::Disentangled(disentangled)) = self.config.relative else {
            return Vec::new();
        };
        let of = |name: &str| format!("layer.{layer}.{name}");
        let Heads { query, key_value, size } = self.config.heads;
        let (queries, keys) = (query * size, key_value * size);
        let table = self.tensor("vectors.weight");
        let rows = (0..table.rows).map(|row| {
            let row: Vec<f64> = table.row(row).iter().map(|x| f64::from(*x)).collect();
            let row = if disentangled.norm { self.norm(&row, "vectors_norm") } else { row };
            let query = self.product(&row, &[(of("qkv"), 0), (of("query"), 0)], queries);
            (query, self.product(&row, &[(of("qkv"), queries), (of("key"), 0)], keys))
        });
        rows.collect()
    }

    /// The experts of a layer, one after the other, each for the tokens that choose it.
    fn experts(&self, x: &[f64], layer: usize, mixture: Mixture) -> Vec<f64> {
        let of = |name: &str| format!("layer.{layer}.{name}");
        let (rows, hidden) = (self.config.intermediate, self.config.hidden);
        let logits = self.product(x, &[(of("router"), 0)], mixture.experts);
        let all: f64 = logits.iter().map(|x| x.exp()).sum();
        let mut order: Vec<usize> = (0..mixture.experts).collect();
        order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
        let bias = &self.tensor(&of("experts.bias")).values;
        let mut sum: Vec<f64> = bias.iter().map(|x| f64::from(*x)).collect();
        for expert in order.into_iter().take(mixture.used) {
            let up = self.product(x, &[(of("experts_up"), expert * rows)], rows);
            let wide: Vec<f64> = up.iter().map(|x| activate(mixture.activation, *x)).collect();
            let down = match self.tensors.get(&of("experts_down_transposed.weight")) {
                None => self.product(&wide, &[(of("experts_down"), expert * hidden)], hidden),
                Some(stored) => {
                    let element = |at: usize, i: usize| stored.row(expert * rows + i)[at];
                    let sum = |at| {
                        let all = wide.iter().enumerate();
                        all.map(|(i, x)| x * f64::from(element(at, i))).sum()
                    };
                    (0..hidden).map(sum).collect()
                }
            };
            let share = logits[expert].exp() / all;
            sum.iter_mut().zip(down).for_each(|(sum, x)| *sum += share * x);
        }
        sum
    }

    fn feed_forward(&self, x: &[f64], layer: usize) -> Vec<f64> {
        let of = |name: &str| format!("layer.{layer}.{name}");
        let rows = self.config.intermediate;
        let wide = match self.config.feed_forward {
            FeedForward::Mixed(mixture) if layer % mixture.every == 1 => {
                return self.experts(x, layer, mixture);
            }
            FeedForward::Plain(activation) | FeedForward::Mixed(Mixture { activation, .. }) => {
                let up = self.product(x, &[(of("up"), 0)], rows);
                up.iter().map(|x| activate(activation, *x)).collect::<Vec<f64>>()
            }
            FeedForward::Gated(activation) => {
                let gate = [(of("gate_up"), 0), (of("up_gate"), rows), (of("gate"), 0)];
                let up = [(of("gate_up"), rows), (of("up_gate"), 0), (of("up"), 0)];
                let (gate, up) = (self.product(x, &gate, rows), self.product(x, &up, rows));
                gate.iter().zip(up).map(|(gate, up)| activate(activation, *gate) * up).collect()
            }
        };
        self.product(&wide, &[(of("down"), 0)], self.config.hidden)
    }

    /// Adds the further input of a layer to a hidden state, and applies the layer's factor; `first`
    /// is the token's first vector.
    fn further_input(&self, x: &mut [f64], first: &[f64], layer: usize, elements: usize) {
        let of = |name: &str| format!("layer.{layer}.{name}");
        let mut own =
            self.product(first, &[("per_layer_input".into(), layer * elements)], elements);
        own.iter_mut().for_each(|own| *own /= (first.len() as f64).sqrt());
        let own = self.norm(&own, "per_layer_input_norm");
        let gate = self.product(x, &[(of("per_layer_gate"), 0)], elements);
        let gated = gate.iter().zip(&own).map(|(x, own)| activate(Activation::GeluTanh, *x) * own);
        let gated: Vec<f64> = gated.collect();
        let added = self.product(&gated, &[(of("per_layer_projection"), 0)], x.len());
        let added = self.norm(&added, &of("per_layer_norm"));
        let factor = f64::from(self.tensor(&of("scale")).values[0]);
        x.iter_mut().zip(added).for_each(|(x, added)| *x = (*x + added) * factor);
    }

    /// The hidden states of a text after all layers.
    pub fn states(&self, ids: &[u32]) -> Vec<Vec<f64>> {
        let Config { embedding, order, .. } = self.config;
        let add = |x: &mut Vec<f64>, y: &[f64]| x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
        let wide = |row: &[f32]| row.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
        let mut states: Vec<Vec<f64>> = Vec::new();
        let mut next = embedding.positions.unwrap_or(0);
        // If positions start after that of padding, padding tokens have that one.
        let padding = next.checked_sub(1);
        for id in ids {
            let stands_for_other_input = embedding.placeholders.ids.contains(id);
            let word = if stands_for_other_input { embedding.placeholders.padding } else { *id };
            let mut row = wide(self.tensor("words.weight").row(word as usize));
            row.iter_mut().for_each(|x| *x *= f64::from(embedding.scale));
            if embedding.positions.is_some() {
                let own = padding.filter(|padding| *padding == *id as usize);
                add(&mut row, &wide(self.tensor("positions.weight").row(own.unwrap_or(next))));
                next += usize::from(own.is_none());
            }
            if embedding.token_types {
                add(&mut row, &wide(self.tensor("types.weight").row(0)));
            }
            if embedding.norm {
                row = self.norm(&row, "embedding_norm");
            }
            if embedding.projected.is_some() {
                row = self.product(&row, &[("projection".to_owned(), 0)], self.config.hidden);
            }
            states.push(row);
        }
        let firsts = states.clone();
        for layer in 0..self.config.layers {
            let of = |name: &str| format!("layer.{layer}.{name}");
            let before = |x: &[f64], name: &str| match order {
                Order::Post | Order::PostTwice => x.to_vec(),
                Order::Pre | Order::Sandwich => self.norm(x, &of(name)),
                other => panic!("{other:?}"),
            };
            let sum = |x: &mut Vec<f64>, mut y: Vec<f64>, after: &str, end: &str| {
                if order == Order::PostTwice && after == "attention_norm" {
                    y.iter_mut().zip(&*x).for_each(|(y, x)| *y += x);
                    add(x, &self.norm(&y, &of(after)));
                    *x = self.norm(x, &of(end));
                    return;
                }
                if order == Order::Sandwich {
                    y = self.norm(&y, &of(end));
                }
                add(x, &y);
                if matches!(order, Order::Post | Order::PostTwice) {
                    *x = self.norm(x, &of(after));
                }
            };
            let x: Vec<_> = states.iter().map(|x| before(x, "attention_norm")).collect();
            let outputs = self.attention(&x, layer).into_iter().zip(&firsts);
            for (state, (y, first)) in states.iter_mut().zip(outputs) {
                sum(state, y, "attention_norm", "attention_end_norm");
                let x = before(state, "feed_forward_norm");
                let y = self.feed_forward(&x, layer);
                sum(state, y, "feed_forward_norm", "feed_forward_end_norm");
                if let Some(elements) = self.config.per_layer {
                    self.further_input(state, first, layer, elements);
                }
            }
        }
        if self.config.final_norm {
            states.iter_mut().for_each(|x| *x = self.norm(x, "norm"));
        }
        states
    }

    pub fn expected(&self) -> Vec<f64> {
        let (ids, mut rest) = (ids(), Vec::new());
        let mut first = 0;
        for length in LENGTHS {
            let states = self.states(&ids[first..first + length]);
            rest.extend_from_slice(&states[length - 1]);
            first += length;
        }
        rest
    }
}

/// The slopes of ALiBi, by the recursion of its paper.
fn slopes(heads: usize) -> Vec<f64> {
    let start = (-(3.0 - (heads as f64).log2()).exp2()).exp2();
    if heads.is_power_of_two() {
        return (1..=heads as i32).map(|head| start.powi(head)).collect();
    }
    let closest = heads.next_power_of_two() / 2;
    let further = slopes(2 * closest).into_iter().step_by(2).take(heads - closest);
    slopes(closest).into_iter().chain(further).collect()
}

/// The bucket of a query at `i` and a key at `j`.
fn bucket(RelativeBuckets { buckets, distance }: RelativeBuckets, i: usize, j: usize) -> usize {
    let (half, exact) = (buckets / 2, buckets / 4);
    let far = |n: usize| {
        let ratio = (n as f64 / exact as f64).ln() / (distance as f64 / exact as f64).ln();
        (exact + (ratio * (half - exact) as f64) as usize).min(half - 1)
    };
    let n = i.abs_diff(j);
    usize::from(j > i) * half + if n < exact { n } else { far(n) }
}

/// The row of the table of positions for a query at `i` and a key at `j`.
fn position(table: Disentangled, i: usize, j: usize) -> usize {
    let (offset, half) = (i as f64 - j as f64, (table.buckets / 2) as f64);
    let far = offset.abs();
    let bucket = if table.buckets == 0 || far <= half {
        offset
    } else {
        let ratio = (far / half).ln() / ((table.distance as f64 - 1.0) / half).ln();
        // A little less, as the farthest may be a whole number.
        offset.signum() * ((ratio * (half - 1.0) - 1e-9).ceil() + half)
    };
    let span = if table.buckets > 0 { table.buckets } else { table.distance } as f64;
    (bucket + span).clamp(0.0, 2.0 * span - 1.0) as usize
}

pub fn has_window(config: &Config, layer: usize) -> bool {
    config.attention.window.is_some_and(|window| match window.layers {
        WindowLayers::AllBut { every, first } => layer % every != first,
        WindowLayers::Listed(_) => LISTED[layer],
    })
}

fn sees(config: &Config, layer: usize, i: usize, j: usize) -> bool {
    let near = config.attention.window.is_none_or(|window| i.abs_diff(j) <= window.reach);
    (near || !has_window(config, layer)) && (j <= i || config.attention.mask == Mask::Full)
}

fn activate(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Gelu => x * 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2),
        Activation::GeluTanh => {
            let root = (2.0 / std::f64::consts::PI).sqrt();
            0.5 * x * (1.0 + (root * (x + 0.044_715 * x.powi(3))).tanh())
        }
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::Relu => x.max(0.0),
        other => panic!("{other:?}"),
    }
}
