//! A table of numbers as colored cells. Larger numbers have darker cells.

use super::letters::{centred, fitting, widest};
use super::style::{Sizes, grey};
use super::{Cells, GREY, failed, header};
use crate::Error;
use crate::notation::column;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Shade of gray, from 0 for black to 255 for white, below which white letters are easier to read than black ones.
const DARK: f64 = 115.0;

/// Maximum number of significant digits of the largest number in a column.
const DIGITS: usize = 4;

#[allow(clippy::cast_possible_truncation, reason = "a figure has few pixels")]
pub(super) fn draw<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    cells: &Cells,
    sizes: &Sizes,
) -> Result<(), Error> {
    let Cells { title, note, corner, rows, columns, numbers } = cells;
    let area = header(area, (title, note.as_deref()), sizes)?;
    let (width, height) = area.dim_in_pixel();
    let (width, height) = (width as i32, height as i32);
    let (type_sizes, edge) = ((sizes.smallest, sizes.words), sizes.sixteenths(5));
    let rows_and_corner = || rows.iter().chain([corner]).map(String::as_str);
    let row_letters = fitting(rows_and_corner(), width / 3, type_sizes);
    let names = widest(rows_and_corner(), row_letters) + 2 * edge;
    let heading = 2 * Sizes::line_of(sizes.words);
    let cell_width = (width - names) / columns.len().max(1) as i32;
    let cell_height = (height - heading) / rows.len().max(1) as i32;
    let column_letters = fitting(columns.iter().map(String::as_str), cell_width - edge, type_sizes);
    let by_column = |i: usize| numbers.iter().map(|row| row[i]).collect::<Vec<Option<f64>>>();
    let numbers: Vec<_> = (0..columns.len()).map(by_column).collect();
    let words: Vec<_> = numbers.iter().map(|numbers| column(numbers, DIGITS)).collect();
    let letters =
        fitting(words.iter().flatten().flatten().map(String::as_str), cell_width - 2 * edge, type_sizes);
    let most = numbers.iter().flatten().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
    let middle = |column: i32, row: i32| {
        (names + column * cell_width + cell_width / 2, heading + row * cell_height + cell_height / 2)
    };
    let corner = Text::new(corner.clone(), (names / 2, heading / 2), centred(row_letters, GREY));
    area.draw(&corner).map_err(failed)?;
    for (i, column) in (0..).zip(columns) {
        let at = (middle(i, 0).0, heading / 2);
        area.draw(&Text::new(column.clone(), at, centred(column_letters, BLACK))).map_err(failed)?;
    }
    for (j, row) in (0..).zip(rows) {
        let at = (names / 2, middle(0, j).1);
        area.draw(&Text::new(row.clone(), at, centred(row_letters, BLACK))).map_err(failed)?;
    }
    for (i, (numbers, words)) in (0..).zip(numbers.iter().zip(words)) {
        for (j, (number, word)) in (0..).zip(numbers.iter().zip(words)) {
            let (Some(number), Some(word)) = (number, word) else { continue };
            let depth = 0.08 + 0.82 * (number / most).clamp(0.0, 1.0).sqrt();
            let corner = (names + i * cell_width, heading + j * cell_height);
            let gap = sizes.thin as i32 * 3;
            let frame = [corner, (corner.0 + cell_width - gap, corner.1 + cell_height - gap)];
            area.draw(&Rectangle::new(frame, sizes.colour(0).mix(depth).filled())).map_err(failed)?;
            let shade = 255.0 * (1.0 - depth) + depth * grey(sizes.colour(0));
            let ink = if shade < DARK { WHITE } else { BLACK };
            area.draw(&Text::new(word, middle(i, j), centred(letters, ink))).map_err(failed)?;
        }
    }
    Ok(())
}
