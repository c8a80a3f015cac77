//! A table of numbers as coloured cells. Larger numbers have darker cells.

use super::letters::{centred, fitting, widest};
use super::number::number as shown;
use super::style::Sizes;
use super::{Cells, failed, header};
use crate::Error;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Significant digits of a number in a cell.
const DIGITS: usize = 4;

#[allow(clippy::cast_possible_truncation, reason = "a figure has few pixels")]
pub(super) fn draw<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    cells: &Cells,
    sizes: &Sizes,
) -> Result<(), Error> {
    let Cells { title, note, rows, columns, numbers } = cells;
    let area = header(area, (title, note.as_deref()), sizes)?;
    let (width, height) = area.dim_in_pixel();
    let (width, height) = (width as i32, height as i32);
    let (type_sizes, edge) = ((sizes.smallest, sizes.words), sizes.sixteenths(5));
    let row_letters = fitting(rows.iter().map(String::as_str), width / 3, type_sizes);
    let names = widest(rows.iter().map(String::as_str), row_letters) + 2 * edge;
    let cell_width = (width - names) / columns.len().max(1) as i32;
    let cell_height = height / (rows.len() as i32 + 1);
    let column_letters = fitting(columns.iter().map(String::as_str), cell_width - edge, type_sizes);
    let words: Vec<Vec<Option<String>>> = numbers
        .iter()
        .map(|row| row.iter().map(|number| number.map(|number| shown(number, DIGITS))).collect())
        .collect();
    let letters =
        fitting(words.iter().flatten().flatten().map(String::as_str), cell_width - 2 * edge, type_sizes);
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
            let gap = sizes.thin as i32 * 3;
            let frame = [corner, (corner.0 + cell_width - gap, corner.1 + cell_height - gap)];
            area.draw(&Rectangle::new(frame, sizes.colour(0).mix(0.08 + 0.82 * depth).filled()))
                .map_err(failed)?;
            let ink = if depth > 0.6 { WHITE } else { BLACK };
            area.draw(&Text::new(word, middle(i, j), centred(letters, ink))).map_err(failed)?;
        }
    }
    Ok(())
}
