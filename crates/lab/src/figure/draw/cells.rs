//! A table of numbers as coloured cells. Larger numbers have darker cells.

use super::letters::{centred, fitting, widest};
use super::{Cells, MARGIN, PALETTE, TITLE, failed};
use crate::Error;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Size of the text in pixels. Text that does not fit is drawn smaller.
const LETTERS: i32 = 18;
/// Margin between the edge of a cell and its number, in pixels.
const EDGE: i32 = 5;

#[allow(clippy::cast_possible_truncation, reason = "a figure has few pixels")]
pub(super) fn draw<B: DrawingBackend>(area: &DrawingArea<B, Shift>, cells: &Cells) -> Result<(), Error> {
    let Cells { title, rows, columns, numbers } = cells;
    let area = area.margin(MARGIN, MARGIN, MARGIN, MARGIN).titled(title, TITLE).map_err(failed)?;
    let (width, height) = area.dim_in_pixel();
    let (width, height) = (width as i32, height as i32);
    let row_letters = fitting(rows.iter().map(String::as_str), width / 3, LETTERS);
    let names = widest(rows.iter().map(String::as_str), row_letters) + 2 * EDGE;
    let cell_width = (width - names) / columns.len().max(1) as i32;
    let cell_height = height / (rows.len() as i32 + 1);
    let column_letters = fitting(columns.iter().map(String::as_str), cell_width - EDGE, LETTERS);
    let words: Vec<Vec<Option<String>>> =
        numbers.iter().map(|row| row.iter().map(|number| number.map(four_digits)).collect()).collect();
    let letters =
        fitting(words.iter().flatten().flatten().map(String::as_str), cell_width - 2 * EDGE, LETTERS);
    let most = numbers.iter().flatten().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
    let middle = |column: i32, row: i32| {
        (names + column * cell_width + cell_width / 2, row * cell_height + cell_height / 2)
    };
    for (i, column) in (0..).zip(columns) {
        area.draw(&Text::new(column.clone(), middle(i, 0), centred(column_letters, BLACK)))
            .map_err(failed)?;
    }
    for (j, row) in (1..).zip(rows) {
        let at = (names / 2, middle(0, j).1);
        area.draw(&Text::new(row.clone(), at, centred(row_letters, BLACK))).map_err(failed)?;
    }
    for (j, (row, words)) in (1..).zip(numbers.iter().zip(words)) {
        for (i, (number, word)) in (0..).zip(row.iter().zip(words)) {
            let (Some(number), Some(word)) = (number, word) else { continue };
            let depth = (number / most).clamp(0.0, 1.0).sqrt();
            let corner = (names + i * cell_width, j * cell_height);
            let frame = [corner, (corner.0 + cell_width - 3, corner.1 + cell_height - 3)];
            area.draw(&Rectangle::new(frame, PALETTE[0].mix(0.08 + 0.82 * depth).filled()))
                .map_err(failed)?;
            let ink = if depth > 0.6 { WHITE } else { BLACK };
            area.draw(&Text::new(word, middle(i, j), centred(letters, ink))).map_err(failed)?;
        }
    }
    Ok(())
}

/// A number with four significant digits, at most three of them after the point.
fn four_digits(number: f64) -> String {
    let decimals = [10.0, 100.0, 1000.0].iter().filter(|&&limit| number.abs() < limit).count();
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let read = [0.0, 0.1234, 1.0, 12.345, 286.162, 1_234.5, -12.345].map(four_digits);
        assert_eq!(read, ["0.000", "0.123", "1.000", "12.35", "286.2", "1234", "-12.35"]);
    }
}
