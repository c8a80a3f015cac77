//! A picture as an HTML page: the picture itself, and below it the numbers of each chart. The page loads nothing from a
//! network.

use super::{Cells, Chart, Plane};
use crate::notation::{shown, shown_or_dash};

const STYLE: &str = "body{font:16px/1.5 sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;\
background:#fff;color:#222}svg{width:100%;height:auto}table{border-collapse:collapse}\
th,td{padding:.1rem .8rem;text-align:right;border-bottom:1px solid #ddd}th:first-child,td:first-child{text-align:left}\
summary{cursor:pointer}";

/// The page with the picture `svg` of `charts`.
pub(super) fn page(charts: &[Chart], svg: &str) -> String {
    let titles: Vec<&str> = charts.iter().map(title).collect();
    let all = escaped(&titles.join(", "));
    let picture = svg.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{all}\" "), 1);
    let mut lines = vec![format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{all}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n{picture}"
    )];
    for (chart, title) in charts.iter().zip(titles) {
        let rows = match chart {
            Chart::Plane(plane) => rows_of_plane(plane),
            Chart::Cells(cells) => rows_of_cells(cells),
        };
        let title = escaped(title);
        lines.push(format!("<details><summary>Numbers of \u{201c}{title}\u{201d}</summary>\n<table>"));
        for (i, row) in rows.iter().enumerate() {
            let tag = if i == 0 { "th" } else { "td" };
            let cells: String = row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
            lines.push(format!("<tr>{cells}</tr>"));
        }
        lines.push("</table>\n</details>".to_owned());
    }
    lines.push("</body>\n</html>\n".to_owned());
    lines.join("\n")
}

fn title(chart: &Chart) -> &str {
    match chart {
        Chart::Plane(plane) => &plane.title,
        Chart::Cells(cells) => &cells.title,
    }
}

/// A heading, and a row for each point: its series, its x and y, and the ends of its error bar if the chart has any.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the positions of names on the x axis are small whole numbers"
)]
fn rows_of_plane(plane: &Plane) -> Vec<Vec<String>> {
    let points = || plane.series.iter().flat_map(|series| &series.points);
    let has_errors = points().any(|point| point.error.is_some());
    let errors = ["from", "to"].into_iter().filter(|_| has_errors);
    let heads = ["", &plane.x_label, &plane.y_label].into_iter().chain(errors);
    let mut rows = vec![heads.map(str::to_owned).collect::<Vec<_>>()];
    for series in &plane.series {
        for point in &series.points {
            let named = plane.ticks.as_ref().and_then(|names| names.get(point.x as usize));
            let x = named.cloned().unwrap_or_else(|| shown(point.x));
            let ends = [point.error.map(|(low, _)| low), point.error.map(|(_, high)| high)];
            let ends = ends.into_iter().filter(|_| has_errors).map(shown_or_dash);
            rows.push([series.label.clone(), x, shown(point.y)].into_iter().chain(ends).collect());
        }
    }
    rows
}

fn rows_of_cells(cells: &Cells) -> Vec<Vec<String>> {
    let mut rows = vec![[&cells.corner].into_iter().chain(&cells.columns).cloned().collect::<Vec<_>>()];
    for (name, numbers) in cells.rows.iter().zip(&cells.numbers) {
        rows.push(
            [name.clone()].into_iter().chain(numbers.iter().map(|&number| shown_or_dash(number))).collect(),
        );
    }
    rows
}

/// The text for HTML: the characters `&`, `<`, `>` and `"` are replaced by their entities.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::draw::{Mark, Point, Series};

    #[test]
    fn a_page_has_the_picture_and_its_numbers() {
        let points = vec![
            Point { x: 0.0, y: 2.783_4, error: Some((2.5, 3.0)) },
            Point { x: 1.0, y: 4.0, error: None },
        ];
        let plane = Plane {
            title: "Slowdown <p99>".into(),
            note: None,
            x_label: "load".into(),
            y_label: "slowdown".into(),
            ticks: Some(vec!["low".into(), "high".into()]),
            log_x: false,
            log_y: false,
            mark: Mark::Bars,
            series: vec![Series { label: "ECMP".into(), points }],
        };
        let page = page(&[Chart::Plane(plane)], "<svg width=\"1\"></svg>");
        for part in [
            "<title>Slowdown &lt;p99&gt;</title>",
            "<svg role=\"img\" aria-label=\"Slowdown &lt;p99&gt;\" width=\"1\"></svg>",
            "<tr><th></th><th>load</th><th>slowdown</th><th>from</th><th>to</th></tr>",
            "<tr><td>ECMP</td><td>low</td><td>2.783</td><td>2.5</td><td>3</td></tr>",
            "<tr><td>ECMP</td><td>high</td><td>4</td><td>-</td><td>-</td></tr>",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
    }
}
