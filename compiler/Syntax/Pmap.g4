// The grammar of Pmap. docs/language.md explains it to users.
//
// Between the lexer and the parser stands a token filter (TokenFilter.h), so that the parser sees
//   - SEP where a newline or `;` ends a statement or an item: also before every `}` and at the end of the file, never twice in
//     a row, never after `{`, never inside ( or [;
//   - brackets that are always balanced: what was missing or too much has been reported, and repaired.
// All decisions need one or two tokens of lookahead, so parsing is linear. What is easier to say in words than in a grammar
// (chained comparisons, assignment targets, `+=`) is accepted here and reported by the builder (Builder.h).
grammar Pmap;

options { superClass = NestingParser; }
@parser::postinclude {
#include "compiler/Syntax/NestingParser.h"
}

// --- Files -----------------------------------------------------------------------------------------------------------------

module : itemLine* EOF ;
itemLine : item SEP ;

// One entry of the REPL.
repl : replLine* EOF ;
replLine : (item | statement) SEP ;

// One expression alone.
expressionFile : expr SEP EOF ;

item : importItem | functionItem | typeItem | constItem | testItem ;
importItem : IMPORT (module_=name | path=STRING) (AS alias=name)? ;
functionItem : EXPORT? FN name LPAREN params? RPAREN (ARROW type)? body ;
typeItem : TYPE name (LBRACKET nameList? RBRACKET)? ASSIGN type ;
constItem : CONST name (COLON type)? ASSIGN expr ;
testItem : TEST STRING block ;

params : items+=param (COMMA items+=param)* COMMA? ;
// `in specs: T = d` has a label of its own; otherwise the first word is label and name.
param : first=word second=name? (COLON type)? (ASSIGN expr)? ;
body : ASSIGN expr | block ;
nameList : items+=name (COMMA items+=name)* COMMA? ;

// --- Types -----------------------------------------------------------------------------------------------------------------

type
  : (path+=name (DOT path+=name)? | HOLE) (LBRACKET sizeList? RBRACKET)?  # namedType
  | LPAREN typeFieldList? RPAREN                                          # groupType
  ;
sizeList : items+=size (COMMA items+=size)* COMMA? ;
size : ELLIPSIS | expr ;
typeFieldList : items+=typeField (COMMA items+=typeField)* trailing=COMMA? ;
typeField : (label=word COLON)? type ;

// --- Statements ------------------------------------------------------------------------------------------------------------

block : LBRACE line* RBRACE ;
line : statement SEP ;

statement
  : LET (LBRACKET nameList RBRACKET)? pattern (COLON type)? ASSIGN expr  # letStatement
  | VAR pattern (COLON type)? ASSIGN expr                                # varStatement
  | FOR pattern IN expr block                                            # forStatement
  | WHILE expr block                                                     # whileStatement
  | BREAK                                                                # breakStatement
  | ASSERT condition=expr (COMMA message=expr)?                          # assertStatement
  | target=expr (op=(ASSIGN | AUGMENT) value=expr)?                      # exprStatement
  ;

pattern
  : name                                                          # namePattern
  | HOLE                                                          # wildcardPattern
  | LPAREN items+=pattern (COMMA items+=pattern)* COMMA? RPAREN   # tuplePattern
  ;

// --- Expressions, tightest first -------------------------------------------------------------------------------------------

expr
  : atom                                                          # atomExpr
  | callee=expr LPAREN argumentList? RPAREN                       # callExpr
  | base=expr LBRACKET subscriptList? RBRACKET                    # indexExpr
  | base=expr DOT name                                            # fieldExpr
  | <assoc=right> lhs=expr op=POW rhs=expr                        # binaryExpr
  | op=MINUS operand=expr                                         # unaryExpr
  | lhs=expr op=(STAR | SLASH | DOUBLE_SLASH | PERCENT | AT) rhs=expr  # binaryExpr
  | lhs=expr op=(PLUS | MINUS) rhs=expr                           # binaryExpr
  | lhs=expr op=DOT_DOT rhs=expr                                  # binaryExpr
  | lhs=expr op=(EQ | NE | LT | LE | GT | GE) rhs=expr            # binaryExpr
  | op=NOT operand=expr                                           # unaryExpr
  | lhs=expr op=AND rhs=expr                                      # binaryExpr
  | lhs=expr op=OR rhs=expr                                       # binaryExpr
  | operand=expr CAST type                                        # castExpr
  | operand=expr WITH LPAREN argumentList? RPAREN                 # withExpr
  | lhs=expr op=PIPE rhs=expr                                     # binaryExpr
  | FN LPAREN params? RPAREN (ARROW type)? body                   # lambdaExpr
  ;

atom
  : NUMBER                              # numberAtom
  | STRING                              # stringAtom
  | value=(TRUE | FALSE)                # boolAtom
  | name                                # nameAtom
  | HOLE                                # holeAtom
  | LPAREN argumentList? RPAREN         # groupAtom
  | LBRACKET FOR ranges+=forRange (COMMA ranges+=forRange)* COLON expr RBRACKET  # comprehensionAtom
  | LBRACKET expressionList? RBRACKET   # arrayAtom
  | ifExpr                              # ifAtom
  | block                               # blockAtom
  ;

ifExpr : IF expr thenBlock=block (ELSE (elseIf=ifExpr | elseBlock=block))? ;
forRange : (name | HOLE) (IN expr)? ;
expressionList : items+=expr (COMMA items+=expr)* COMMA? ;

// Arguments of a call, parts of a tuple, fields of a record: the builder tells them apart.
argumentList : items+=argument (COMMA items+=argument)* trailing=COMMA? ;
argument : label=word COLON expr | expr ;

subscriptList : items+=subscript (COMMA items+=subscript)* COMMA? ;
subscript : ELLIPSIS | lower=expr slice? | slice ;
slice : COLON upper=expr? (COLON stride=expr?)? ;

// --- Words -----------------------------------------------------------------------------------------------------------------

// `type`, `test` and `as` are reserved only where they introduce something.
name : NAME | TYPE | TEST | AS ;

// A label may be any word.
word
  : name | IMPORT | EXPORT | FN | CONST | LET | VAR | FOR | IN | WHILE | IF | ELSE | BREAK | ASSERT | WITH | AND | OR | NOT
  | TRUE | FALSE
  ;

// --- Tokens ----------------------------------------------------------------------------------------------------------------

IMPORT : 'import' ;
EXPORT : 'export' ;
AS : 'as' ;
FN : 'fn' ;
TYPE : 'type' ;
CONST : 'const' ;
TEST : 'test' ;
LET : 'let' ;
VAR : 'var' ;
FOR : 'for' ;
IN : 'in' ;
WHILE : 'while' ;
IF : 'if' ;
ELSE : 'else' ;
BREAK : 'break' ;
ASSERT : 'assert' ;
WITH : 'with' ;
AND : 'and' ;
OR : 'or' ;
NOT : 'not' ;
TRUE : 'true' ;
FALSE : 'false' ;

LPAREN : '(' ;
RPAREN : ')' ;
LBRACKET : '[' ;
RBRACKET : ']' ;
LBRACE : '{' ;
RBRACE : '}' ;
COMMA : ',' ;
SEP : ';' ;
COLON : ':' ;
ARROW : '->' ;
PIPE : '|>' ;
CAST : ':>' ;
ELLIPSIS : '...' ;
DOT_DOT : '..' ;
DOT : '.' ;
POW : '**' ;
STAR : '*' ;
DOUBLE_SLASH : '//' ;
SLASH : '/' ;
PERCENT : '%' ;
AT : '@' ;
PLUS : '+' ;
MINUS : '-' ;
EQ : '==' ;
NE : '!=' ;
LE : '<=' ;
LT : '<' ;
GE : '>=' ;
GT : '>' ;
ASSIGN : '=' ;

// What is not Pmap but has a clear meaning elsewhere; recognised for the sake of the message.
AUGMENT : '+=' | '-=' | '*=' | '/=' | '//=' | '%=' | '**=' | '@=' ;
FOREIGN_OPERATOR : '&&' | '||' | '!' | '^' | '&' | '|' | '~' | '<<' | '>>' | '++' | '=>' | ':=' ;

HOLE : '_' ;
// Also inf and nan, with a suffix or without. What follows the digits is checked when the value is read.
NUMBER
  : [0-9] [0-9_]* ('.' [0-9] [0-9_]*)? ([eE] [+-]? [0-9] [0-9_]*)? NAME_PART*
  | ('inf' | 'nan') ('f16' | 'bf16' | 'f32' | 'f64')?
  ;
NAME : NAME_START NAME_PART* ;
fragment NAME_START : [\p{L}_] ;
fragment NAME_PART : [\p{L}\p{M}\p{Nd}_] ;

STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* '"' ;
UNTERMINATED_STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* '\\'? ;
SINGLE_QUOTED : '\'' ~['\r\n]* '\'' ;

COMMENT : '#' ~[\r\n]* ;
NEWLINE : '\r'? '\n' ;
BLANK : [ \t\r\f\u00A0\uFEFF]+ -> skip ;
UNKNOWN : . ;
